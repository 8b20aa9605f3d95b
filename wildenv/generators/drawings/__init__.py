"""What the compositor draws: places, things beside the target, light and weather. Nothing here knows the target."""
