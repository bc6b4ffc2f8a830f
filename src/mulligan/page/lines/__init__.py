"""Lines of files and patches as the page shows them: in windows, in colours, with words that changed marked."""
