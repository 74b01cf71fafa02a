"""Write both files: `python -m tools.releasing.paper`."""

from tools.releasing.paper import epub, pdf

epub.main()
pdf.main()
