namespace Weir.Hosting.Tests.Support;

/// <summary>A queue whose source cannot be opened some times.</summary>
internal sealed class FaultyQueue(IWorkQueue<string> inner, Func<Exception?> nextFault) : IWorkQueue<string>
{
    public string Name => inner.Name;

    public IDeadLetters DeadLetters => inner.DeadLetters;

    public int Setups { get; private set; }

    public Task SetupAsync(CancellationToken cancellationToken = default)
    {
        Setups++;
        return inner.SetupAsync(cancellationToken);
    }

    public ValueTask<IWorkSink<string>> OpenSinkAsync(CancellationToken cancellationToken = default) => inner.OpenSinkAsync(cancellationToken);

    public ValueTask<IWorkSource<string>> OpenSourceAsync(CancellationToken cancellationToken = default) =>
        nextFault() is { } fault ? throw fault : inner.OpenSourceAsync(cancellationToken);

    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
