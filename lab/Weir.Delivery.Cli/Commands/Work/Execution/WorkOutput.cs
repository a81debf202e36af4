namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>Writes results as a sentence, or as one line of JSON.</summary>
internal static class WorkOutput
{
    private static readonly JsonSerializerOptions Plain = new() { Encoder = System.Text.Encodings.Web.JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    public static void Write(WorkCliHost host, bool json, string sentence, params (string Name, JsonNode? Value)[] fields) =>
        WriteLine(host, json ? Json(fields) : sentence);

    /// <summary>Writes a line. Items that end at the same time write one after the other.</summary>
    public static void WriteLine(WorkCliHost host, string line)
    {
        lock (host)
        {
            host.Out.WriteLine(line);
        }
    }

    public static string Json(params (string Name, JsonNode? Value)[] fields) =>
        new JsonObject(fields.Select(static f => KeyValuePair.Create(f.Name, f.Value))).ToJsonString(Plain);
}
