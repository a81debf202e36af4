namespace Weir.Cli.Kit.Processes;

/// <summary>Reads the output of a process, so that the process never waits for a reader, and passes it on line by line. Long lines are truncated.</summary>
internal sealed class PrintedLines
{
    private const int Longest = 500;
    private const int MostLast = 5;

    private readonly Lock _lock = new();
    private readonly Queue<string> _last = new();
    private readonly Action<string> _printed;

    public PrintedLines(TextReader reader, Action<string> printed)
    {
        _printed = printed;
        Done = Task.Run(() => ReadAsync(reader));
    }

    /// <summary>Ends when the output ends.</summary>
    public Task Done { get; }

    /// <summary>The last lines as one text, for a message.</summary>
    public string Last
    {
        get
        {
            lock (_lock)
            {
                return string.Join(' ', _last).Trim();
            }
        }
    }

    private async Task ReadAsync(TextReader reader)
    {
        char[] buffer = new char[4096];
        StringBuilder line = new();
        bool any = false;
        try
        {
            int read;
            while ((read = await reader.ReadAsync(buffer, CancellationToken.None)) > 0)
            {
                for (int i = 0; i < read; i++)
                {
                    char c = buffer[i];
                    if (c == '\n')
                    {
                        Pass(line);
                        any = false;
                        continue;
                    }

                    any = true;
                    if (line.Length < Longest && c != '\r')
                    {
                        line.Append(c);
                    }
                }
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // The process is gone.
        }

        if (any)
        {
            Pass(line);
        }
    }

    private void Pass(StringBuilder line)
    {
        string text = line.ToString();
        line.Clear();
        lock (_lock)
        {
            _last.Enqueue(text);
            if (_last.Count > MostLast)
            {
                _last.Dequeue();
            }
        }

        _printed(text);
    }
}
