using System.Diagnostics;

namespace Weir.Dataflow.Links;

/// <summary>What LinkTo returns.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class Unlinker(object? source, object? target, Action unlink) : IDisposable
{
    public static readonly IDisposable Nothing = new Unlinker(null, null, static () => { });

    private Action? _unlink = unlink;

    private string DebuggerDisplay => _unlink is null || target is null ? "Not linked" : $"Source={source}, Target={target}";

    public void Dispose() => Interlocked.Exchange(ref _unlink, null)?.Invoke();
}
