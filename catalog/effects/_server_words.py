"""Words of servers and tools that indicate a category, besides those that formats read by.

Formats keep their own list: the category that they infer is part of a definition's digest.
"""

MORE_WORDS: dict[str, str] = {
    "database": """
        airtable cassandra chroma chromadb cockroachdb couchdb databricks datalake datastore
        duckdb dynamo faiss hbase hive influxdb jdbc kusto milvus mssql neon nocodb nosql odbc
        oracle orm planetscale pocketbase presto psql sparql sqlserver surrealdb tidb
        timescaledb trino triplestore
    """,
    "search": """
        crawling exa fetch firecrawl kagi perplexity searcher searxng serper yahoo yandex
    """,
    "api": """
        dig dns domain domains ip ips jsonrpc latency odata ping postman rpc soap subdomain
        subdomains whois
    """,
    "ai": """
        comfyui deepseek elevenlabs finetune finetuning grok hallucination langchain llama
        lmstudio metacognitive mistral mlflow multimodal ollama perceptron pollinations rag
        replicate stable thinking tokenizer transformer transformers
    """,
    "auth": """
        auth0 biometric identity keycloak ldap mfa okta otp saml session signin signup totp
    """,
    "messaging": """
        bot bots broadcast chatroom dingtalk feishu lark matrix mattermost ntfy pushover sound
        twilio wechat xmpp
    """,
    "planning": """
        asana basecamp checkin checklist checklists clickup deliverables gantt habit habits
        itinerary linear pomodoro roadmap scrum timer timesheet todoist workflow workflows
        worklog
    """,
    "memory": """
        journaling mem0 mindmap notebook notebooks obsidian recall zettelkasten
    """,
    "information": """
        bible breed breeds census clock country datetime definitions demographic encyclopedic
        facts feed fruit geography hacker hackernews headlines holiday holidays horoscope
        hotspots mediawiki nationality population postal quote quotes quran rss stories
        temperature trivia uv wiki zodiac
    """,
    "developer-tools": """
        android angular arduino assembly bytecode cargo circuit codebase codebases codegen
        copilot debugger debugging decompile devcontainer devcontainers disassemble elixir
        engineering error errors eslint exception exceptions expo firmware flutter fpga gdb
        ghidra golang gradle homebrew ide intellij ios java jupyter kicad kotlin kubernetes
        laravel leetcode lgtm lldb llms log logging maven mcps monorepo n8n nextjs nix nixos
        notebook nuget openrouter pcb php pypi rails reverse sbom scaffold schematic sentry
        servers snippet snippets stack svelte swagger swift tailwind trace traces verilog vite
        vscode vue vulnerability webpack worktree xcode
    """,
    "finance": """
        accounting aptos arbitrage binance bond bonds bookkeeping broker brokerage candlestick
        coinbase coingecko dex dividend dividends earnings etf etfs evm exchanges expense
        expenses forex futures hedge holdings interest ledger nasdaq ohlcv onchain options
        payout paypal polygon quickbooks refund remittance sec solana stablecoin staking
        starknet stripe sui tvl uniswap web3 xero yfinance yield yields
    """,
    "media": """
        album albums anime artist artists avatar blender camera clip clips comics emoji emojis
        ffmpeg flux geometric ghibli joke jokes lyrics manga meme memes mermaid midjourney mp3
        mp4 photoshop pixel png premiere singer soundtrack subtitle subtitles svg television
        thumbnail thumbnails tmdb transcript transcription transcripts tts tv wallpaper whisper
    """,
    "data-analysis": """
        addition aggregate algebra analytical anova arithmetic calculation calculations
        calculators calculus derivative determinant eda eigenvalues equation equations factorial
        fibonacci geometry histogram integral logarithm mathematics modulo multiplication
        numeric numpy pandas pivot polynomial power powerbi prime quotient remainder root sqrt
        subtract subtraction superset symbolic tableau trigonometry visualise visualize vizro
    """,
    "cloud": """
        ansible autoscaling cdn cloudformation datadog digitalocean ecs eks fargate gcs gke
        grafana helm heroku hosting iam ingress k8s kubernetes namespace namespaces netlify
        observability openshift pod pods pricing prometheus proxmox pulumi replicas serverless
        tunnel tunnels vercel vmware
    """,
    "travel": """
        airbnb airline airlines amap attractions booking commute cruise dining ferry geocoding
        geolocation gps itineraries landmarks lodging metro municipalities municipality museum
        museums navigation nearby openstreetmap osm parking province provinces railway
        sightseeing subway taxi tour tourism tourist tours traffic transit uber visa
    """,
    "health": """
        allergy anatomy blood bmi calorie cancer cardiac clinical clinicaltrials cocktail
        cocktails cooking diabetes diagnosis dosage epidemiology fda fhir fruit genetics gym
        heart icd ingredient ingredients meal meals medication medications medicinal nurse
        nutrition pain pharmacy recipes sleep snomed surgery symptom therapy trials vaccine
        vaccines vitamins weight yoga
    """,
    "gaming": """
        avatar baseball basketball cricket deck dungeon esport esports fantasy fifa football
        formula godot hockey lottery lotto mod mods nba nfl nintendo playstation poker puzzle
        roblox roll rpg runescape soccer sudoku tabletop tennis unity unreal vr vrchat warcraft
        wordle xbox
    """,
    "writing": """
        author authors blogging docx editing editor frontmatter grammar hugo latex manuscript
        newsletter novel paragraph proofreading rewrite stories story summarize wordpress
    """,
    "education": """
        academic assignment assignments classes college education educational flashcard
        flashcards gradescope homework kids mooc moodle professor pupils scholarship study
        submission submissions syllabus teaching textbook tuition tutoring vocabulary
    """,
    "marketing": """
        adset adwords businesses conversions ctr hubspot landing mailchimp outreach pipedrive
        positioning prospect prospects publicity referral salesforce sponsor utm zoho
    """,
    "system": """
        applescript automation bash bluetooth cmd daemon driver env gpu homeassistant hostname
        iot kernel light lights linux macos modbus mqtt operating pid plc powershell printer
        raspberry remote restart scada shell smart ssh systemd terminal thermostat uptime usb
        wifi
    """,
    "science": """
        academic animal astronomical atom atoms biodiversity bioinformatics biology biomedical
        biorxiv bird birds celestial cell chembl chemicals citation citations climate
        clinicaltrials compound compounds crystal dataset earthquake ecology electron ensembl
        epics fluid genome genomic genomics geology insect magnetic materials mechanics medrxiv
        meteorology microscopy molecular mutation nasa nih nuclear ocean optics orbital
        paleontology particle pathway pharmacology pubchem publications pubmed quantum rdkit
        research scholar science scientific seismic simulate simulation taxonomy telescope
        thermodynamics uniprot wavelength zoo
    """,
    "hiring": """
        applicant applicants career careers cv hire hr interview interviewee interviews
        occupation onboarding recruit recruiter recruiting skillset staffing talent vacancies
        vacancy
    """,
    "filesystem": """
        csvs dropbox ebook epub folder ftp gdrive glob onedrive sftp sharepoint txt webdav
        workspace
    """,
    "transform": """
        barcode barcodes beautify converting ocr pandoc transcode unicode units uuid xml yaml
    """,
    "communication": """
        imap mailbox sendgrid telephony voicemail
    """,
    "browser": """
        chromium headless webdriver webpages
    """,
    "security": """
        burp ciphertext crowdstrike ctf dfir exploits forensic fuzz hashcat honeypot injection
        intrusion ioc iocs malicious metasploit nmap nuclei owasp pentest pentesting phish
        ransomware sbom semgrep shodan siem snyk sonarqube splunk spoofing trivy urlhaus
        virustotal volatility vulnerable xss yara
    """,
    "shopping": """
        aliexpress buyer checkout cosmetics coupon coupons deals delivery ebay etsy grocery menu
        merchant retail seller shopify wishlist woocommerce
    """,
    "social-media": """
        bilibili blogger discourse douyin follower influence karma moderation repost subreddits
        threads trends tweeting upvote viral weibo xiaohongshu zhihu
    """,
    "legal": """
        act agreement attorney bills congress gdpr judge judges jurisdiction lawsuit legislation
        legislative litigation notary ordinance parliament precedent privacy senate statute
        statutes trademark trademarks treaty
    """,
}

# Ambiguous here, besides the weak words of formats.
MORE_WEAK_WORDS = """
    academic act aggregate album artist assembly author authors automation bills bond bonds bot
    bots broadcast businesses calculation cell chain chroma clip clips clock collections crystal
    dataset deals deck delivery driver editing editor env error errors exchanges fantasy fetch
    flux formula fruit google heart hire hive influence interest interview ip ips kids light
    lights linear log logging materials matrix menu mod mods navigation nearby neon ocean
    options pain particle pathway ping polygon population positioning power premiere presto
    prime privacy project projects publications puzzle quantum quote quotes recall refund
    remainder remote render replicate research restart roll root rpc servers session simulate
    simulation sleep smart sound stable stack stories story study sum summarize symbolic talent
    threads timer trace traces trends trials tunnel units uptime weight workspace yahoo yield
    yields
"""

# Words in the texts of many servers, whatever they do.
GENERIC_WORDS = """
    agent agents ai api apis app archive assistant assistants box bridge builder client context
    control controller data detection fetcher hub integration listing listings llm llms manager
    mcp model node parser project projects protocol reader score scores server servers service
    services source time tool tools
"""

# Verbs that name a category, but of tools of every other category as well.
VERBS = """
    convert extract find list lookup parse queries query render results search searches searching
"""
