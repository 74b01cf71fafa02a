"""Write both files: `python -m tools.paper`."""

from tools.paper import epub, pdf

epub.main()
pdf.main()
