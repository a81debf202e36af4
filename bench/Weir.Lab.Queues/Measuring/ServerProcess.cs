using System.Globalization;

namespace Weir.Lab.Queues.Measuring;

/// <summary>The processor time of a server on this machine, and what it writes: of the process that listens on a port, and of all that it has started.</summary>
internal sealed class ServerProcess
{
    private const int TicksASecond = 100;
    private const string Listening = "0A";

    private static readonly string[] Tables = ["/proc/net/tcp", "/proc/net/tcp6"];

    private readonly int? _process;

    /// <param name="port">Where the server listens.</param>
    public ServerProcess(int port) => _process = Listener(port);

    /// <summary>The seconds so far; null if the server is not on this machine.</summary>
    public double? Seconds()
    {
        if (Family() is not { } family)
        {
            return null;
        }

        // Of children that have ended, the parent has the time.
        return (double)family.Sum(static member => Ticks(member.Fields, first: 11, count: 4)) / TicksASecond;
    }

    /// <summary>
    /// The bytes that they have given to the disk so far; null if that cannot be read. A parent has those of its children that have ended.
    /// </summary>
    public long? Written() => Family()?.Aggregate((long?)0, static (sum, member) => sum + WrittenBy(member.Id));

    // The server, and all that it has started.
    private List<(int Id, string[] Fields)>? Family()
    {
        if (_process is not { } process || Fields(process) is not { } own)
        {
            return null;
        }

        List<(int Id, string[] Fields)> family = [(process, own)];
        HashSet<int> known = [process];
        foreach ((int id, string[] fields) in Others(process))
        {
            if (known.Contains(int.Parse(fields[1], CultureInfo.InvariantCulture)))
            {
                known.Add(id);
                family.Add((id, fields));
            }
        }

        return family;
    }

    private static long? WrittenBy(int process)
    {
        const string Name = "write_bytes: ";
        try
        {
            string line = File.ReadLines($"/proc/{process}/io").First(static line => line.StartsWith(Name, StringComparison.Ordinal));
            return long.Parse(line.AsSpan(Name.Length), CultureInfo.InvariantCulture);
        }
        catch (UnauthorizedAccessException)
        {
            return null;
        }
        catch (IOException)
        {
            // It has just ended.
            return 0;
        }
    }

    // A child has a higher number than its parent, until the numbers begin anew.
    private static IEnumerable<(int Id, string[] Fields)> Others(int process) => Directory.EnumerateDirectories("/proc")
        .Select(static folder => int.TryParse(Path.GetFileName(folder), out int id) ? id : 0)
        .Where(id => id != 0 && id != process)
        .Order()
        .Select(static id => (id, Fields(id)))
        .Where(static other => other.Item2 is not null)!;

    private static long Ticks(string[] fields, int first, int count) =>
        fields.Skip(first).Take(count).Sum(static field => long.Parse(field, CultureInfo.InvariantCulture));

    // Those after the name of the program, which may have any characters.
    private static string[]? Fields(int process)
    {
        try
        {
            string line = File.ReadAllText($"/proc/{process}/stat");
            return line[(line.LastIndexOf(')') + 2)..].Split(' ');
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    private static int? Listener(int port)
    {
        string[] sockets = [.. Tables.Where(File.Exists)
            .SelectMany(static table => File.ReadLines(table).Skip(1))
            .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Where(fields => fields.Length > 9 && fields[1].EndsWith($":{port:X4}", StringComparison.Ordinal) && fields[3] == Listening)
            .Select(static fields => $"socket:[{fields[9]}]")];
        return sockets.Length == 0 ? null : Directory.EnumerateDirectories("/proc")
            .Select(static folder => int.TryParse(Path.GetFileName(folder), out int id) ? id : 0)
            .Where(id => id != 0 && HasOne(id, sockets))
            .Order()
            .Select(static id => (int?)id)
            .FirstOrDefault();
    }

    private static bool HasOne(int process, string[] sockets)
    {
        try
        {
            return Directory.EnumerateFileSystemEntries($"/proc/{process}/fd").Any(file => sockets.Contains(new FileInfo(file).LinkTarget));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}
