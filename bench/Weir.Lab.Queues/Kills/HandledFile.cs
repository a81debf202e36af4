using System.Globalization;
using System.Text;

namespace Weir.Lab.Queues.Kills;

/// <summary>A file with a line for each item that a worker has handled. The system has a line when the call returns, so it survives the worker.</summary>
/// <param name="path">The file, which is new.</param>
internal sealed class HandledFile(string path) : IDisposable
{
    private readonly Lock _lock = new();
    private readonly FileStream _file = new(path, FileMode.CreateNew, FileAccess.Write, FileShare.Read, bufferSize: 0);

    /// <summary>Adds a line. Any thread may call it.</summary>
    public void Add(int number)
    {
        byte[] line = Encoding.ASCII.GetBytes($"{number.ToString(CultureInfo.InvariantCulture)}\n");
        lock (_lock)
        {
            _file.Write(line);
        }
    }

    /// <summary>The items of all such files of a folder, as often as they were handled.</summary>
    public static IEnumerable<int> Read(string folder) => Directory.EnumerateFiles(folder).SelectMany(static file =>
    {
        using StreamReader reader = new(new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite));
        return reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(static line => int.Parse(line, CultureInfo.InvariantCulture));
    });

    public void Dispose() => _file.Dispose();
}
