using Weir.Checkpoints;
using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>A disk in memory. A crash takes what a real one may take: content that was not flushed, and the last new name.</summary>
internal sealed class ModelDisk : CheckpointDisk
{
    private readonly Dictionary<string, byte[]> _files = [];
    private readonly Dictionary<string, byte[]> _flushed = [];
    private readonly HashSet<string> _held = [];
    private (string From, string To, byte[]? Before)? _lastRename;

    /// <summary>Called before each operation on a file, with its name. May throw, or let the process die.</summary>
    public Action<string> Before { get; set; } = static _ => { };

    /// <summary>Whether the process is dead, so that nothing that it still does has an effect.</summary>
    public Func<bool> IsDead { get; set; } = static () => false;

    public int Saves { get; private set; }

    public IEnumerable<string> Names => _files.Keys;

    public override IDisposable? Lock(string path) => _held.Add(path) ? new Release(() => _held.Remove(path)) : null;

    public override string? Read(string path) => _files.TryGetValue(path, out byte[]? content) ? System.Text.Encoding.UTF8.GetString(content) : null;

    protected override void Write(string path, byte[] content)
    {
        Before("write");
        if (!IsDead())
        {
            _flushed.Remove(path);
            _files[path] = content;
        }
    }

    protected override void Flush(string path)
    {
        Before("flush");
        if (!IsDead())
        {
            _flushed[path] = _files[path];
        }
    }

    protected override void Rename(string from, string to)
    {
        Before("rename");
        if (!IsDead())
        {
            _lastRename = (from, to, _files.GetValueOrDefault(to));
            _files.Remove(from, out byte[]? content);
            _files[to] = content!;
            if (_flushed.Remove(from, out byte[]? flushed))
            {
                _flushed[to] = flushed;
            }
            else
            {
                _flushed.Remove(to);
            }

            Saves++;
        }
    }

    protected override void FlushFolderOf(string path)
    {
        Before("flush folder");
        if (!IsDead())
        {
            _lastRename = null;
        }
    }

    protected override void Delete(string path) => _files.Remove(path);

    /// <summary>The process is gone. Its files are as it left them.</summary>
    public void Kill() => _held.Clear();

    /// <summary>The power is gone too.</summary>
    public void LosePower(Random random)
    {
        Kill();
        if (_lastRename is { } rename && random.Next(2) == 0)
        {
            if (rename.Before is null)
            {
                _files.Remove(rename.To);
                _flushed.Remove(rename.To);
            }
            else
            {
                _files[rename.To] = rename.Before;
                _flushed[rename.To] = rename.Before;
            }
        }

        _lastRename = null;
        foreach (string name in _files.Keys.ToArray())
        {
            if (!_flushed.TryGetValue(name, out byte[]? flushed) || flushed != _files[name])
            {
                _files[name] = _files[name][..random.Next(_files[name].Length)];
            }
        }
    }

    private sealed class Release(Action release) : IDisposable
    {
        public void Dispose() => release();
    }
}
