"""All pages in all windows: checked by axe, and pictured for people."""
