"""``crop_image``: cuts a box out of a picture; the cut is a new picture with its own id (Savanna, appendix B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.errors import ToolError
from wildenv.messages import image_block, text_block
from wildenv.tools.base import Arguments, Schema, ToolContext, ToolResult, function_schema
from wildenv.web.picture import room_for


class CropImage:
    """Crops a picture that has been shown."""

    name = "crop_image"

    def schema(self) -> Schema:
        """Returns the tool's JSON schema."""
        box = {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4}
        properties = {"image_id": {"type": "string"}, "box": {**box, "description": "[x1,y1,x2,y2] from 0 to 1000"}}
        return function_schema(self.name, "Cut a box out of a picture; gives a new image id.", properties, ["image_id", "box"])

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Returns a text block that names the new id and its parent, and the image block."""
        given = Arguments(self.name, arguments, ["image_id", "box"])
        image_id = given.text("image_id", 40)
        if context.budget.images_left < 1:
            raise ToolError(f"no pictures left: {context.budget.limits.images} have been shown")
        box = given.box("box")
        with room_for(*context.gallery.record(image_id).size):
            record = context.gallery.crop(image_id, box)
        line = f"{record.id} = {image_id} {list(record.box or ())}".replace(", ", ",")
        return ToolResult([text_block(line), image_block(record.id, record.digest)])
