"""An installation as people have it, with messages in seven languages, judged by their author."""
