namespace Weir.Cli.Commands.Load.Work;

/// <summary>The lines of a file as bytes, without their line ends.</summary>
internal sealed class LineFile
{
    private readonly byte[] _bytes;
    private readonly List<(int Start, int Length)> _lines = [];

    private LineFile(string path, byte[] bytes)
    {
        Path = path;
        _bytes = bytes;
        int start = 0;
        while (start < bytes.Length)
        {
            int length = bytes.AsSpan(start).IndexOf((byte)'\n');
            int next = length < 0 ? bytes.Length : start + length + 1;
            length = length < 0 ? bytes.Length - start : length;
            if (length > 0 && bytes[start + length - 1] == '\r')
            {
                length--;
            }

            _lines.Add((start, length));
            start = next;
        }
    }

    /// <summary>The path as the user gave it.</summary>
    public string Path { get; }

    /// <summary>How many lines there are. An empty line is one.</summary>
    public int Count => _lines.Count;

    /// <summary>How many bytes the file has.</summary>
    public int Bytes => _bytes.Length;

    /// <summary>The work that hashes a line for each item.</summary>
    public LinesWorkload Workload() => new(Count, Bytes, line => _bytes.AsMemory(_lines[line].Start, _lines[line].Length));

    /// <exception cref="BadInputException">There is no such file, it cannot be read, is too large, or has no line.</exception>
    public static LineFile Read(OptionValue given)
    {
        if (!File.Exists(given.Text))
        {
            throw given.Bad("a file that exists");
        }

        try
        {
            byte[] bytes = File.ReadAllBytes(given.Text);
            return bytes.Length > 0 ? new LineFile(given.Text, bytes) : throw given.Bad("a file with at least one line");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw given.Bad($"a file that can be read, of at most 2 GB ({e.Message.TrimEnd('.')})");
        }
    }
}
