using System.Text.RegularExpressions;

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

    /// <summary>Writes things as they come, a line of JSON each, or all of them as a table.</summary>
    public static async Task ListAsync<T>(
        WorkCliHost host,
        bool json,
        IAsyncEnumerable<T> things,
        Func<T, string> line,
        string nothing,
        string title,
        params (string Head, Func<T, string?> Text)[] columns)
    {
        List<T> all = [];
        await foreach (T thing in things)
        {
            if (json)
            {
                WriteLine(host, line(thing));
            }
            else
            {
                all.Add(thing);
            }
        }

        if (!json && all.Count == 0)
        {
            host.Out.WriteLine(nothing);
        }
        else if (!json)
        {
            TableText.Write(Table.Of(title, 1, all, columns), host.Out, host.Style);
        }
    }

    public static string Time(DateTimeOffset time) => time.UtcDateTime.ToString("yyyy-MM-dd HH:mm:ss'Z'", CultureInfo.InvariantCulture);

    public static string Headers(IReadOnlyDictionary<string, string>? headers) =>
        headers is { Count: > 0 } ? string.Join(", ", headers.Select(static h => $"{h.Key}={h.Value}")) : "none";

    public static JsonObject? JsonHeaders(IReadOnlyDictionary<string, string>? headers) =>
        headers is null ? null : new JsonObject(headers.Select(static h => KeyValuePair.Create(h.Key, (JsonNode?)h.Value)));
}

/// <summary>What a dead letter says in a line.</summary>
internal static partial class LetterText
{
    /// <summary>The first line of the error, without the type of an exception: that is a name of the program's, which tells its user nothing.</summary>
    public static string Message(DeadLetter letter)
    {
        string line = letter.Error.Split('\n')[0].TrimEnd('\r');

        // Only these letters have an exception. In the others, nothing is taken for a type.
        if (letter.Reason is not (DeadLetterReason.Failed or DeadLetterReason.Rejected or DeadLetterReason.TimedOut))
        {
            return line;
        }

        string message = line[TypeName().Match(line).Length..].Trim();
        return message.Length > 0 ? message : line;
    }

    // A name with its namespace, or one that says what it is; then what it is of, if it is generic.
    [GeneratedRegex(@"^(?:(?:[\p{L}_]\w*[.+])+[\p{L}_]\w*|\w*Exception)(?:`\d+)?(?:\[.*?\]+)?: ")]
    private static partial Regex TypeName();
}
