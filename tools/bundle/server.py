"""Start excerpt with the arguments of the manifest: the entry point of the bundle for desktop agents."""

from excerpt.__main__ import main

if __name__ == "__main__":
    main()
