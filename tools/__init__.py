"""Programs for developers; nothing here is part of the operator."""
