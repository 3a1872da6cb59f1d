"""Texts and messages of our own, for tests without a labelled set."""

# Messages with the tool text that answers each.
PAIRS = (
    ("email the invoice to Anna", "send email: Sends a mail with attachments to a person."),
    ("will it rain in Oslo tomorrow?", "get forecast: The weather for a place and a day."),
    ("put lunch with Sam into my diary", "create event: Adds an appointment to a calendar."),
    ("what is 17 % of 3,450?", "calculate: Works out an arithmetic expression."),
    ("how do I get to the station on foot?", "find route: Directions between two places."),
    ("say good morning in Japanese", "translate: Turns a text into another language."),
    ("who won the match last night?", "sports results: Scores of finished games."),
    ("remind me to water the plants", "set reminder: Notifies someone at a given time."),
    ("post the release notes to the channel", "post message: Writes into a team channel."),
    ("which customers have not paid yet?", "list invoices: Invoices with their state."),
    ("play something calm", "play music: Starts a playlist or a song."),
    ("turn the heating down", "set thermostat: Changes the temperature at home."),
    ("shorten this article for me", "summarise: The main points of a long text."),
    ("what did we decide in March?", "search notes: Finds earlier notes by their text."),
    ("run the unit tests", "run command: Executes a shell command in a sandbox."),
    ("show me the open bugs", "list issues: Tickets of a repository, by state."),
    ("how much is a euro in yen?", "convert currency: Exchange rates between currencies."),
    ("book a table for four", "reserve table: Restaurant reservations."),
    ("find a cheap flight to Lisbon", "search flights: Flights with prices and times."),
    ("delete the old backups", "remove file: Deletes a file or folder."),
    ("make a picture of a red fox", "generate image: Draws an image from a description."),
    ("read me the newest headlines", "get news: Articles of today by topic."),
    ("where is my parcel?", "track shipment: The way of a package so far."),
    ("what is on my to-do list?", "list tasks: Tasks that are still open."),
    ("how many people signed up in May?", "query database: Runs a read-only SQL query."),
    ("scan this for viruses", "check file: Looks for malware in a file."),
    ("give Tom access to the folder", "share folder: Lets a person see a folder."),
    ("what does this chart show?", "describe image: Says what can be seen in a picture."),
    ("write down what was said", "transcribe: Turns speech into text."),
    ("call me a taxi", "order ride: Sends a driver to an address."),
)
TOOL_TEXTS = tuple(text for _, text in PAIRS)
MESSAGES = tuple(message for message, _ in PAIRS)
