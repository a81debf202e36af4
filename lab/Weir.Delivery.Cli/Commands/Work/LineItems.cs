using System.Runtime.CompilerServices;

namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>Items from lines of a file or of the input: one item a line, without empty lines.</summary>
internal sealed class LineItems
{
    private const int MostInAWrite = 256;
    private const string Input = "-";

    private readonly TextOption _separator = TextOption.Of("--key-separator", null, "TEXT",
        "What separates the key of an item from its value, at the first place in a line. Default: items have no key");
    private readonly TextOption _origin = TextOption.Of("--origin", null, "TEXT",
        "The identity of all items together, such as the name of the file: who gets an item twice can tell. Default: a new one");

    public void AddTo(Command command) => command.AddAll(_separator, _origin);

    /// <summary>Publishes the lines.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="file">The file; a minus sign for the input.</param>
    /// <param name="host">The host of the command.</param>
    /// <param name="write">Publishes some items.</param>
    /// <param name="cancellationToken">Stops reading.</param>
    public async Task PublishAsync(
        ParseResult parsed,
        OptionValue file,
        WorkCliHost host,
        Func<IReadOnlyList<WorkItem<string>>, CancellationToken, ValueTask> write,
        CancellationToken cancellationToken)
    {
        string? separator = _separator.Find(parsed)?.NotEmpty("a text such as ':'");
        string origin = _origin.Find(parsed)?.NotEmpty("a text") ?? Guid.CreateVersion7().ToString("N");
        List<WorkItem<string>> items = [];
        int count = 0;
        using TextReader? opened = file.Text == Input ? null : Open(file);
        await foreach (string line in LinesAsync(opened ?? host.In, cancellationToken))
        {
            int at = separator is null ? -1 : line.IndexOf(separator, StringComparison.Ordinal);
            items.Add(at < 0
                ? new WorkItem<string>(new WorkId(origin, count++), line)
                : new WorkItem<string>(new WorkId(origin, count++), line[(at + separator!.Length)..], line[..at]));
            if (items.Count == MostInAWrite)
            {
                await WriteAsync();
            }
        }

        await WriteAsync();

        async ValueTask WriteAsync()
        {
            if (items.Count > 0)
            {
                await write([.. items], cancellationToken);
                items.Clear();
            }
        }
    }

    private static StreamReader Open(OptionValue file)
    {
        try
        {
            return new StreamReader(file.NotEmpty("a file, or - for the input"));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw file.Bad($"a file that can be read, or - for the input ({e.Message.TrimEnd('.')})");
        }
    }

    private static async IAsyncEnumerable<string> LinesAsync(TextReader reader, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        while (await reader.ReadLineAsync(cancellationToken).AsTask().WaitAsync(cancellationToken) is { } line)
        {
            if (line.Length > 0)
            {
                yield return line;
            }
        }
    }
}
