"""Words that the evidence rests on; none of them names a tool, a server or a data set."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words before the verb: "This tool allows you to search …".
LEAD_IN = _words(
    """
    a action allow allowing allows also an and api are asynchronously at automatically based be
    can command comprehensive current deprecated designed detailed easily enable enables endpoint
    existing fast for from function given have helper helps i if important in is it its let lets
    mcp method more multiple new of on one only or our perform performs please quickly request
    safely  server service should simple simply single specific that the this to tool tools
    use used useful user users using utility via want wants when which will with you your
    """
)
JOINS = _words(
    """
    also and optionally or then to
    """
)
# Names and descriptions without a verb, of something that is only looked at.
ANSWERS = _words(
    """
    analysis availability balance calculation calculator chart checker conversion converter
    coordinates count data definition definitions detail details distance documentation explorer
    finder forecast health history info information leaderboard length list lookup metadata
    metrics news overview price prices quote rank ranking rate rates report results schema score
    scores search size snapshot standings statistics stats status summary synonyms timezone
    uptime usage version versions viewer weather
    """
)
# Made up for the answer, and kept nowhere.
FLEETING = _words(
    """
    analysis answer answers caption captions cases chart code copy css description diagram
    greeting hash hashtags html idea ideas image images itinerary joke keywords lyrics map
    melody names number numbers outline palette password passwords phrase plan plot poem preview
    prompt qr question questions quiz random recipe recommendations report reports response
    sample script sentence sequence slogan story suggestions summary test tests text title
    titles uuid visualization workout
    """
)
# Made up as well, but for somebody who will keep or use it.
KEPT = _words(
    """
    account accounts certificate certificates coupon credential credentials invite invoice
    invoices key keys order signature ticket tickets token tokens voucher
    """
)
ARITHMETIC = _words(
    """
    add sum
    """
)
OPERANDS = _words(
    """
    integer integers matrices num number numbers nums operands vectors
    """
)
# "Perform an analysis", "run an audit": the noun says what is done.
LIGHT = _words(
    """
    conduct exec execute make perform run test
    """
)
INQUIRIES = _words(
    """
    analysis assessment audit audits calculation check checks comparison connection connectivity
    diagnostics estimation evaluation inspection integration lookup measurement reachability
    regression review scan scanner search searches select simulation validation
    """
)
# Tools that a model thinks with, and that keep nothing.
REASONING = _words(
    """
    argumentation brainstorming debate reasoning thinking thought thoughts
    """
)
# Verbs that only let time pass, given how long.
WAITING = _words(
    """
    sleep wait
    """
)
DURATIONS = _words(
    """
    delay duration duration_ms duration_seconds milliseconds minutes ms seconds time timeout
    """
)
# Verbs that work on the text that they are given, and those arguments.
TEXT_EDITING = _words(
    """
    clean strip trim truncate
    """
)
TEXTS = _words(
    """
    content input string text
    """
)
# After a verb they make a noun of it: "upload speed", "update time".
MEASURES = _words(
    """
    count latency progress rate rates size speed statistics stats status time times
    """
)
# Run by a tool that has no verb and takes them.
RUN = _words(
    """
    cmd code command commands script shell_command
    """
)
READING = _words(
    """
    cursor date depth end_date expand fields filter filters from_date include limit max_results
    offset order_by page page_size pagesize per_page perpage q query search search_query since
    sort sort_by start_date to_date top_k until
    """
)
WRITING = _words(
    """
    attachments bcc body cc commit_message content dry_run dryrun due_date force html_body message
    new_name new_value newname overwrite payload priority recipient subject updates
    """
)
# Calculations take these as well.
PERHAPS_WRITING = _words(
    """
    amount data quantity text value values
    """
)
SAVING = _words(
    """
    destination_folder download_path file_name output_dir output_directory output_file output_path
    outputdir outputdirectory outputfile outputpath save_as save_dir save_path save_to savepath
    """
)
# Kinds of files that a conversion makes: it writes one where it is given a path.
MEDIA = _words(
    """
    audio docx gif image images jpg mp3 mp4 pdf png pptx video videos webm xlsx
    """
)
CONVERTING = _words(
    """
    compress convert
    """
)
INPUT_FILES = _words(
    """
    input input_file input_file_path input_path inputfile inputpath
    """
)
# Verbs that hand something over to someone else, whatever it is.
SENDING = _words(
    """
    broadcast buy call comment dispatch donate email forward invite mail message notify order pay
    post publish purchase reply repost respond rpc send sms submit subscribe text trade transmit
    tweet
    """
)
# Recipients among the arguments of something that is no read.
RECIPIENTS = _words(
    """
    bcc cc channel_id channelid chat_id chatid phone_number recipient recipients to to_address
    to_email toaddress webhook_url
    """
)
FOREIGN = _words(
    """
    answers article articles blog blogs changelog chat chats comment comments conversation
    conversations discussion discussions docs documentation email emails feed forum html inbox
    internet issue issues listings mail message messages news package packages page pages paper
    papers post posts pull readme registry release releases review
    reviews rss social subreddit thread threads ticket tickets timeline transcript transcripts
    tweet tweets url urls video videos web webpage webpages website websites wiki
    """
)
# The same words in names of things that are counted, listed or configured rather than read.
NOT_FOREIGN = _words(
    """
    count id ids label labels quota schema size status
    """
)
FOREIGN_ARGUMENTS = _words(
    """
    link page_url url urls website
    """
)
PRIVATE = _words(
    """
    account accounts address agent agents alert alerts application applications appointment
    appointments assignment attachment attachments bookmarks browser bucket buckets calendar
    calendars chat chats clipboard cluster clusters collection collections contact contacts
    conversation conversations credential credentials crm customer customers cypher database
    databases dataset datasets deal deals deployment deployments desktop device devices dialogs
    directories directory document documents drive email emails employee employees entities entity
    event events file files folder folders graph group groups health history holdings host hosts
    inbox incident incidents invoice invoices journal journals key keys knowledge label labels
    lead leads local log logs mail mailbox meeting meetings member members memories memory message
    messages namespace namespaces nodes note notes observations order orders organization
    organizations password passwords patient patients payment payments permission permissions
    photos pipeline pipelines pod pods policies policy portfolio position positions process
    processes profile project projects prompt prompts query record records repo repositories
    repository row rows screen screenshot screenshots secret secrets session sessions settings sql
    storage subscription subscriptions table tables task tasks team teams tenant tenants thread
    threads ticket tickets todo todos token transaction transactions tree user users wallet
    wallets workflow workflows workspace workspaces
    """
)
# Data of one's own, said outright: one of these, and soon after it a word of _PRIVATE.
OWN = _words(
    """
    authenticated current logged my signed user users your
    """
)
# Verbs that work on their arguments alone.
COMPUTING = _words(
    """
    calculate compose compute convert decode encode estimate format generate hash parse predict
    random round simulate solve sum transform translate validate
    """
)
# Whoever runs code or commands reads what these can read.
RUNNING = _words(
    """
    exec execute invoke run
    """
)
CODE = _words(
    """
    bash cli code command commands cypher python shell sql terminal
    """
)
# Things that everyone may read, named with the same words.
PUBLIC = _words(
    """
    blockchain chain companies company contract crypto cryptocurrency docs documentation eth
    finance game games guide historical leaderboard league library maps market markets movie
    movies music nft package packages player players price prices protocol public recipes season
    sport sports statistics stock stocks team teams ticker token tokens trend trends tutorial
    weather web world
    """
)
OWN_PLACES = _words(
    """
    directory file_path filepath path repo_path repopath
    """
)
