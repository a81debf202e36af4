namespace Weir.Tests.Unused;

/// <summary>A result that counts how often it is disposed of.</summary>
internal class Resource(int number) : IAsyncDisposable, IDisposable
{
    private int _disposals;

    public int Number => number;

    public int Disposals => Volatile.Read(ref _disposals);

    /// <summary>Waits until it has been disposed of, and then for whoever might do it again.</summary>
    public async Task DisposedOnceAsync()
    {
        await Guard.UntilAsync(() => Disposals > 0, $"the disposal of result {number}");
        await Guard.SettleAsync();
        Assert.Equal(1, Disposals);
    }

    public virtual ValueTask DisposeAsync()
    {
        Interlocked.Increment(ref _disposals);
        return default;
    }

    /// <summary>Never called, because the asynchronous form comes first.</summary>
    public void Dispose() => Interlocked.Add(ref _disposals, 100);
}
