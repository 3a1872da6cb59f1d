// Reads configurations from a JSON list of texts, as LibreChat does; prints what each became, or the complaints.
//     node librechat.mjs '["version: …", …]'
import yaml from "js-yaml";
import { configSchema } from "librechat-data-provider";

const read = (text) => {
  const { data, error } = configSchema.strict().safeParse(yaml.load(text));
  return error ? { complaints: error.issues.map(({ path, message }) => [path.join("."), message]) } : data;
};
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(read)));
