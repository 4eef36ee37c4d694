"""Build scripts of the lesson: lesson.yaml and measurements in, a MkDocs site out."""
