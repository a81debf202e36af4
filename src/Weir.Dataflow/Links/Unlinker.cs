namespace Weir.Dataflow.Links;

/// <summary>What LinkTo returns.</summary>
internal sealed class Unlinker(Action unlink) : IDisposable
{
    public static readonly IDisposable Nothing = new Unlinker(static () => { });

    private Action? _unlink = unlink;

    public void Dispose() => Interlocked.Exchange(ref _unlink, null)?.Invoke();
}
