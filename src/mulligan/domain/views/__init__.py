"""Views: values that every front door shows. Their fields are named as in the JSON documents."""
