using System.Buffers;
using System.Globalization;
using System.Numerics;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Weir.Checkpoints;

/// <summary>Where a checkpoint is kept.</summary>
internal abstract class CheckpointStore
{
    /// <summary>How messages call it.</summary>
    public abstract string Name { get; }

    /// <summary>Takes the checkpoint for a run.</summary>
    /// <exception cref="IOException">Another run has it.</exception>
    public abstract ValueTask<OpenCheckpoint> OpenAsync(CancellationToken cancellationToken);

    /// <summary>Opens or reads a file. Of one that cannot be, the platform does not say what it is for.</summary>
    /// <exception cref="IOException">It cannot be read.</exception>
    internal static T Reading<T>(string what, string path, Func<T> read)
    {
        try
        {
            return read();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException)
        {
            string why = Directory.Exists(path) ? "it is a folder." : e.Message;
            throw new IOException($"The {what} {path} cannot be used: {why}", e);
        }
    }

    /// <summary>What the text of a checkpoint says.</summary>
    /// <exception cref="InvalidOperationException">It is no checkpoint.</exception>
    protected CheckpointText Parse(string text) => CheckpointText.Parse(text) ?? throw new InvalidOperationException(
        $"{Name} is no checkpoint of Weir, or is damaged, or of another version: give the run another name, or delete it to begin anew.");

    /// <summary>The exception of a run that finds the checkpoint taken.</summary>
    protected IOException InUse() => new(
        $"The checkpoint {Name} is in use by another run, of this process or another: wait for its end, or give this run a checkpoint of its own.");
}

/// <summary>A checkpoint that a run has taken. Where the store can, no other run gets it until it is disposed of. Its methods are called one at a time.</summary>
internal abstract class OpenCheckpoint : IAsyncDisposable
{
    /// <summary>Whether <see cref="Began"/> and <see cref="Ended"/> are to be called.</summary>
    public virtual bool FollowsItems => false;

    /// <summary>How long after a save the next one is made. Saves that take long wait longer.</summary>
    public virtual TimeSpan Interval => TimeSpan.FromMilliseconds(250);

    /// <summary>What was saved last; null if nothing was.</summary>
    /// <exception cref="InvalidOperationException">There is something else.</exception>
    public abstract ValueTask<CheckpointText?> LoadAsync(CancellationToken cancellationToken);

    /// <summary>Saves what is done, or leaves everything as it is and throws.</summary>
    public abstract ValueTask SaveAsync(CheckpointText state);

    /// <summary>An item will run. Thread-safe, as the next one.</summary>
    /// <param name="item">Its key or position.</param>
    public virtual void Began(string item)
    {
    }

    /// <summary>An item does not run again in this run.</summary>
    /// <inheritdoc cref="Began"/>
    public virtual void Ended(string item)
    {
    }

    public abstract ValueTask DisposeAsync();
}

/// <summary>A checkpoint in a file.</summary>
/// <remarks>
/// Its lock is a file of its own, because a save replaces the file of the checkpoint, and it is never deleted: a run that had just opened it would hold a lock on
/// a file that no other run can see.
/// </remarks>
internal sealed class CheckpointFile(string path, CheckpointDisk disk) : CheckpointStore
{
    public override string Name => path;

    public override ValueTask<OpenCheckpoint> OpenAsync(CancellationToken cancellationToken) =>
        new(new Open(this, Reading("checkpoint", path, () => disk.Lock(path + ".lock")) ?? throw InUse()));

    private sealed class Open(CheckpointFile file, IDisposable held) : OpenCheckpoint
    {
        public override ValueTask<CheckpointText?> LoadAsync(CancellationToken cancellationToken) =>
            new(Reading("checkpoint", file.Name, () => file.Disk.Read(file.Name)) is { } text ? file.Parse(text) : null);

        public override ValueTask SaveAsync(CheckpointText state)
        {
            file.Disk.Replace(file.Name, state.ToString());
            return default;
        }

        public override ValueTask DisposeAsync()
        {
            held.Dispose();
            return default;
        }
    }

    private CheckpointDisk Disk => disk;
}

/// <summary>What a checkpoint needs of a disk. Tests have one that loses what was not flushed.</summary>
/// <remarks>
/// A file is replaced so: write a new one beside, flush it, rename it, flush the folder. Without the first flush, a power failure could leave the new name with
/// nothing behind it; without the second, the name could be that of the file before. Whatever is beside after a crash is overwritten the next time.
/// </remarks>
internal abstract class CheckpointDisk
{
    public static CheckpointDisk Real { get; } = new RealDisk();

    /// <summary>Gives a file a new content, or leaves it as it is and throws.</summary>
    public void Replace(string path, string content)
    {
        string beside = path + ".new";
        try
        {
            Write(beside, Encoding.UTF8.GetBytes(content));
            Flush(beside);
            Rename(beside, path);
        }
        catch
        {
            // A part of it would keep a full disk full.
            Delete(beside);
            throw;
        }

        FlushFolderOf(path);
    }

    /// <summary>Holds a file until it is disposed of or the process ends; null if somebody else holds it.</summary>
    public abstract IDisposable? Lock(string path);

    /// <summary>The text of a file; null if there is none.</summary>
    public abstract string? Read(string path);

    /// <summary>Makes a file, in place of any that is there.</summary>
    protected abstract void Write(string path, byte[] content);

    /// <summary>After this, no power failure takes the content away.</summary>
    protected abstract void Flush(string path);

    /// <summary>Gives a file another name, in place of any that has it.</summary>
    protected abstract void Rename(string from, string to);

    /// <summary>After this, no power failure takes the name of a file away, where the system can do that.</summary>
    protected abstract void FlushFolderOf(string path);

    /// <summary>Takes a file away, if that can be done.</summary>
    protected abstract void Delete(string path);

    private sealed class RealDisk : CheckpointDisk
    {
        public override IDisposable? Lock(string path)
        {
            try
            {
                // The system gives it back when the process ends, however it does.
                return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None, 1);
            }
            catch (IOException e) when (IsHeldByOthers(e))
            {
                return null;
            }
        }

        public override string? Read(string path)
        {
            try
            {
                return File.ReadAllText(path);
            }
            catch (FileNotFoundException)
            {
                return null;
            }
        }

        protected override void Write(string path, byte[] content) => File.WriteAllBytes(path, content);

        protected override void Flush(string path)
        {
            using FileStream file = new(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None, 1);
            file.Flush(flushToDisk: true);
        }

        protected override void Rename(string from, string to) => File.Move(from, to, overwrite: true);

        protected override void FlushFolderOf(string path)
        {
            if (OperatingSystem.IsWindows())
            {
                return;
            }

            // The platform opens no folders. One that may be written and not read stays as it is.
            using SafeFileHandle folder = new(OpenForReading(Path.GetDirectoryName(Path.GetFullPath(path))!, 0), ownsHandle: true);
            if (!folder.IsInvalid)
            {
                RandomAccess.FlushToDisk(folder);
            }
        }

        protected override void Delete(string path)
        {
            try
            {
                File.Delete(path);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
            }
        }

        // A sharing violation: ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION of Windows, EWOULDBLOCK of Linux and of the systems of BSD.
        private static bool IsHeldByOthers(IOException e) => OperatingSystem.IsWindows() ? (e.HResult & 0xFFFF) is 32 or 33 : e.HResult is 11 or 35;

        [DllImport("libc", EntryPoint = "open", ExactSpelling = true, CharSet = CharSet.Ansi)]
        [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
        private static extern nint OpenForReading([MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags);
    }
}

/// <summary>A range of positions that are not done.</summary>
/// <param name="First">The first of them.</param>
/// <param name="End">The position after the last of them.</param>
/// <param name="LeftBefore">How many before it are not done.</param>
internal readonly record struct Gap(long First, long End, long LeftBefore);

/// <summary>The positions or keys that are done. Positions are ranges: the longest done prefix is the first of them.</summary>
internal sealed class DoneItems
{
    // What a million failures that are spread over a source would leave. Further ranges are not noted, so that their items run again.
    public const int MostRanges = 100_000;

    private static readonly Comparer<(long First, long End)> ByEnd = Comparer<(long First, long End)>.Create(static (a, b) => a.End.CompareTo(b.End));

    // Disjoint, not adjacent, in order.
    private readonly List<(long First, long End)> _ranges;

    // Only added to: a snapshot shares the array.
    private string[] _keys;

    public DoneItems()
        : this([], [], 0)
    {
    }

    public DoneItems(List<(long First, long End)> ranges, string[] keys, int keyCount)
    {
        _ranges = ranges;
        _keys = keys;
        Keys = keyCount;
    }

    /// <summary>How many keys there are.</summary>
    public int Keys { get; private set; }

    /// <summary>The positions of ranges in any order, which may overlap.</summary>
    public static DoneItems Of(IEnumerable<(long First, long End)> ranges)
    {
        List<(long First, long End)> joined = [];
        foreach ((long first, long end) in ranges.Order())
        {
            if (joined.Count > 0 && joined[^1].End >= first)
            {
                joined[^1] = (joined[^1].First, Math.Max(joined[^1].End, end));
            }
            else
            {
                joined.Add((first, end));
            }
        }

        return new DoneItems(joined, [], 0);
    }

    public long Count => Keys + _ranges.Sum(static range => range.End - range.First);

    public IReadOnlyList<(long First, long End)> Ranges => _ranges;

    public ReadOnlySpan<string> AllKeys => _keys.AsSpan(0, Keys);

    public void Add(string key)
    {
        if (Keys == _keys.Length)
        {
            Array.Resize(ref _keys, Math.Max(16, 2 * Keys));
        }

        _keys[Keys++] = key;
    }

    public void Add(long position)
    {
        // The first range that ends at the position or after it. Nearly always one of the last.
        int at = _ranges.Count > 0 && _ranges[^1].End < position ? _ranges.Count : _ranges.BinarySearch((0, position), ByEnd);
        at = at < 0 ? ~at : at;
        if (at == _ranges.Count || _ranges[at].First > position + 1)
        {
            if (_ranges.Count < MostRanges)
            {
                _ranges.Insert(at, (position, position + 1));
            }
        }
        else if (_ranges[at].First == position + 1)
        {
            _ranges[at] = (position, _ranges[at].End);
        }
        else if (_ranges[at].End == position)
        {
            if (at + 1 < _ranges.Count && _ranges[at + 1].First == position + 1)
            {
                _ranges[at] = (_ranges[at].First, _ranges[at + 1].End);
                _ranges.RemoveAt(at + 1);
            }
            else
            {
                _ranges[at] = (_ranges[at].First, position + 1);
            }
        }
    }

    /// <summary>Whether a position is done.</summary>
    public bool Contains(long position)
    {
        int at = _ranges.BinarySearch((0, position + 1), ByEnd);
        at = at < 0 ? ~at : at;
        return at < _ranges.Count && _ranges[at].First <= position;
    }

    /// <summary>Whether all positions below one are done.</summary>
    public bool IsAllBelow(long end) => end == 0 || (_ranges.Count > 0 && _ranges[0].First == 0 && _ranges[0].End >= end);

    public DoneItems Snapshot() => new([.. _ranges], _keys, Keys);

    /// <summary>What is not done, up to the end of all positions; empty if nothing is done.</summary>
    public Gap[] Gaps()
    {
        if (_ranges.Count == 0)
        {
            return [];
        }

        List<Gap> gaps = [];
        long end = 0;
        long left = 0;
        foreach ((long first, long rangeEnd) in _ranges)
        {
            if (first > end)
            {
                gaps.Add(new Gap(end, first, left));
                left += first - end;
            }

            end = rangeEnd;
        }

        gaps.Add(new Gap(end, long.MaxValue, left));
        return [.. gaps];
    }
}

/// <summary>
/// A checkpoint as it is saved: lines of text. The last one has a check sum of those before it, because a digit that has changed would leave items out.
/// </summary>
internal sealed record CheckpointText(string Source, bool IsComplete, bool HasKeys, DoneItems Done)
{
    private const string Header = "weir checkpoint 2";

    // UTF-8 has no halves of pairs, and PostgreSQL no U+0000.
    private static readonly SearchValues<char> Special = SearchValues.Create("\\\n\r\0");

    public static CheckpointText? Parse(string text)
    {
        int end = text.LastIndexOf("end ", StringComparison.Ordinal);
        string[] lines = text.Split('\n');
        if (end < 0 || lines.Length < 6 || lines[0] != Header || text[end..] != Footer(text.AsSpan(0, end)))
        {
            return null;
        }

        bool hasKeys = lines[3] == "by key";
        try
        {
            DoneItems done = hasKeys
                ? new DoneItems([], [.. lines[4..^2].Select(Unescaped)], lines.Length - 6)
                : DoneItems.Of(lines[4..^2].Select(RangeOf));
            return new CheckpointText(Unescaped(lines[1]), lines[2] == "complete", hasKeys, done);
        }
        catch (Exception e) when (e is FormatException or OverflowException or ArgumentOutOfRangeException)
        {
            return null;
        }
    }

    public override string ToString()
    {
        StringBuilder text = new();
        text.Append(Header).Append('\n').Append(Escaped(Source)).Append('\n').Append(IsComplete ? "complete\n" : "unfinished\n");
        text.Append(HasKeys ? "by key\n" : "by position\n");
        foreach ((long, long) range in Done.Ranges)
        {
            text.Append(TextOf(range)).Append('\n');
        }

        foreach (string key in Done.AllKeys)
        {
            text.Append(Escaped(key)).Append('\n');
        }

        string content = text.ToString();
        return content + Footer(content);
    }

    /// <summary>A range as a line.</summary>
    public static string TextOf((long First, long End) range) => string.Create(CultureInfo.InvariantCulture, $"{range.First}-{range.End - 1}");

    /// <summary>The range of a line, or the position alone.</summary>
    /// <exception cref="FormatException">It is neither.</exception>
    public static (long First, long End) RangeOf(string line)
    {
        string[] ends = line.Split('-');
        long first = long.Parse(ends[0], NumberStyles.None, CultureInfo.InvariantCulture);
        long last = ends.Length == 1 ? first : long.Parse(ends[1], NumberStyles.None, CultureInfo.InvariantCulture);
        return ends.Length <= 2 && first <= last && last < long.MaxValue ? (first, last + 1) : throw new FormatException();
    }

    private static string Footer(ReadOnlySpan<char> content)
    {
        uint sum = uint.MaxValue;
        ReadOnlySpan<ulong> blocks = MemoryMarshal.Cast<char, ulong>(content);
        foreach (ulong block in blocks)
        {
            sum = BitOperations.Crc32C(sum, block);
        }

        foreach (char rest in content[(blocks.Length * sizeof(ulong) / sizeof(char))..])
        {
            sum = BitOperations.Crc32C(sum, rest);
        }

        return string.Create(CultureInfo.InvariantCulture, $"end {sum:x8}\n");
    }

    private static string Escaped(string text)
    {
        if (text.AsSpan().IndexOfAny(Special) < 0 && text.AsSpan().IndexOfAnyInRange('\uD800', '\uDFFF') < 0)
        {
            return text;
        }

        StringBuilder escaped = new();
        for (int i = 0; i < text.Length; i++)
        {
            if (i + 1 < text.Length && char.IsSurrogatePair(text[i], text[i + 1]))
            {
                escaped.Append(text, i++, 2);
            }
            else if (Special.Contains(text[i]) || char.IsSurrogate(text[i]))
            {
                escaped.Append(CultureInfo.InvariantCulture, $"\\{(int)text[i]:x4}");
            }
            else
            {
                escaped.Append(text[i]);
            }
        }

        return escaped.ToString();
    }

    private static string Unescaped(string line)
    {
        if (!line.Contains('\\', StringComparison.Ordinal))
        {
            return line;
        }

        StringBuilder text = new();
        for (int i = 0; i < line.Length; i++)
        {
            if (line[i] != '\\')
            {
                text.Append(line[i]);
                continue;
            }

            text.Append((char)ushort.Parse(line.AsSpan(i + 1, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
            i += 4;
        }

        return text.ToString();
    }
}
