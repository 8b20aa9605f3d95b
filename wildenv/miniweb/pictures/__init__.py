"""Pictures of the miniweb: `Scene` says what is shown, `render` draws it."""

from wildenv.miniweb.pictures.render import Rendered, render
from wildenv.miniweb.pictures.scene import SHOTS, SUBJECTS, Scene

__all__ = ["SHOTS", "SUBJECTS", "Rendered", "Scene", "render"]
