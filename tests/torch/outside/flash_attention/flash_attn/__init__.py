"""flash-attention's package without what needs its compiled library: the layers are its own, the kernel is quern's."""
import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)  # with the folder of the fetched files, which is on the path too
