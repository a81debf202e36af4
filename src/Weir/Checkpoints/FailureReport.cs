using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Weir.Checkpoints;

namespace Weir;

/// <summary>The failures of a run as a file that people read, and that another run takes as its source.</summary>
/// <remarks>
/// A line for each item that failed or timed out: the item or its key, how often its call was made, the kind of failure and its message. A file whose name ends
/// in <c>.csv</c> has these columns under a line of their names, quoted as RFC 4180 says; one that ends in <c>.jsonl</c> has an object of JSON in each line.
/// </remarks>
public static class FailureReport
{
    private const string Header = "item,attempts,kind,message";

    // A file for people, and no part of a page of HTML.
    private static readonly JsonWriterOptions Readable = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Writes the items that failed or timed out.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="outcomes">The outcomes. They have the number of attempts with <see cref="OutputOptions.IncludeDetails"/>; otherwise it is left out.</param>
    /// <param name="path">The file, which ends in <c>.csv</c> or <c>.jsonl</c>. One that is there is replaced, whole or not at all.</param>
    /// <param name="key">What stands for an item, such as its number; <see langword="null"/> for the item itself, as text.</param>
    /// <returns>How many failed.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="outcomes"/> or <paramref name="path"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="path"/> has another ending.</exception>
    /// <exception cref="IOException">The file cannot be written.</exception>
    public static int WriteReport<TItem, TResult>(this IEnumerable<ItemOutcome<TItem, TResult>> outcomes, string path, Func<TItem, object?>? key = null)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return Write(outcomes.Select(o => (TextOf(o.Item, key), o.Details, o.Status, o.Error)), path);
    }

    /// <inheritdoc cref="WriteReport{TItem, TResult}"/>
    public static int WriteReport<TItem>(this IEnumerable<ItemOutcome<TItem>> outcomes, string path, Func<TItem, object?>? key = null)
    {
        ArgumentNullException.ThrowIfNull(outcomes);
        return Write(outcomes.Select(o => (TextOf(o.Item, key), o.Details, o.Status, o.Error)), path);
    }

    /// <summary>Reads the items or keys of a report, for a run over what failed.</summary>
    /// <param name="path">The report.</param>
    /// <returns>The items or keys, as text, in the order of the report.</returns>
    /// <exception cref="ArgumentException"><paramref name="path"/> ends neither in <c>.csv</c> nor in <c>.jsonl</c>.</exception>
    /// <exception cref="IOException">The file cannot be read.</exception>
    /// <exception cref="FormatException">The file is no report.</exception>
    public static IReadOnlyList<string> ReadItems(string path)
    {
        bool isCsv = IsCsv(path);
        string text = File.ReadAllText(path);
        return isCsv ? ItemsOfCsv(text) : [.. text.Split('\n').Where(static line => !string.IsNullOrWhiteSpace(line)).Select(ItemOfJson)];
    }

    private static int Write(IEnumerable<(string Item, ItemDetails? Details, ItemStatus Status, Exception? Error)> outcomes, string path)
    {
        bool isCsv = IsCsv(path);
        StringBuilder text = new();
        if (isCsv)
        {
            text.Append(Header).Append("\r\n");
        }

        int count = 0;
        foreach ((string item, ItemDetails? details, ItemStatus status, Exception? error) in outcomes)
        {
            if (status is not (ItemStatus.Failed or ItemStatus.TimedOut))
            {
                continue;
            }

            count++;
            string kind = status == ItemStatus.TimedOut ? nameof(ItemStatus.TimedOut) : error!.GetType().FullName ?? "";
            if (isCsv)
            {
                text.Append(Quoted(item)).Append(',').Append(CultureInfo.InvariantCulture, $"{details?.Attempts},{Quoted(kind)},{Quoted(error!.Message)}\r\n");
            }
            else
            {
                text.Append(Json(item, details?.Attempts, kind, error!.Message)).Append('\n');
            }
        }

        CheckpointDisk.Real.Replace(path, text.ToString());
        return count;
    }

    private static bool IsCsv(string path)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        return path.EndsWith(".csv", StringComparison.OrdinalIgnoreCase) || (path.EndsWith(".jsonl", StringComparison.OrdinalIgnoreCase)
            ? false
            : throw new ArgumentException("The name of a report must end in .csv or .jsonl, which say its format.", nameof(path)));
    }

    private static string TextOf<TItem>(TItem item, Func<TItem, object?>? key) =>
        Convert.ToString(key is null ? item : key(item), CultureInfo.InvariantCulture) ?? "";

    private static string Quoted(string text) => text.AsSpan().IndexOfAny("\",\r\n") < 0 ? text : $"\"{text.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";

    private static string Json(string item, int? attempts, string kind, string message)
    {
        using MemoryStream buffer = new();
        using (Utf8JsonWriter json = new(buffer, Readable))
        {
            json.WriteStartObject();
            json.WriteString("item", item);
            if (attempts is { } calls)
            {
                json.WriteNumber("attempts", calls);
            }

            json.WriteString("kind", kind);
            json.WriteString("message", message);
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(buffer.ToArray());
    }

    private static string ItemOfJson(string line)
    {
        try
        {
            using JsonDocument json = JsonDocument.Parse(line);
            return json.RootElement.GetProperty("item").GetString() ?? "";
        }
        catch (Exception e) when (e is JsonException or KeyNotFoundException or InvalidOperationException)
        {
            throw new FormatException("A line of the report is no object of JSON with an item.", e);
        }
    }

    private static List<string> ItemsOfCsv(string text)
    {
        if (!text.StartsWith(Header, StringComparison.Ordinal))
        {
            throw new FormatException($"The report does not begin with the line {Header}.");
        }

        List<string> items = [];
        int at = text.IndexOf('\n', StringComparison.Ordinal) is >= 0 and var header ? header + 1 : text.Length;
        while (at < text.Length)
        {
            // People edit reports, and leave empty lines.
            if (text[at] is '\r' or '\n')
            {
                at++;
                continue;
            }

            string item = CellOf(text, ref at);
            if (at == text.Length || text[at] != ',')
            {
                throw new FormatException($"The line of the report that begins with the item {item} is not whole.");
            }

            items.Add(item);
            while (at < text.Length && text[at] == ',')
            {
                at++;
                CellOf(text, ref at);
            }
        }

        return items;
    }

    // The text up to the next comma or end of a line that is not between quotes, which is at then.
    private static string CellOf(string text, ref int at)
    {
        int start = at;
        if (at == text.Length || text[at] != '"')
        {
            int length = text.AsSpan(at).IndexOfAny(",\r\n");
            at = length < 0 ? text.Length : at + length;
            return text[start..at];
        }

        do
        {
            // A quote within the text stands twice.
            int quote = text.IndexOf('"', at + 1);
            at = quote >= 0 ? quote + 1 : throw new FormatException("The report is not whole: its last text has no closing quote.");
        }
        while (at < text.Length && text[at] == '"');
        return text[(start + 1)..(at - 1)].Replace("\"\"", "\"", StringComparison.Ordinal);
    }
}
