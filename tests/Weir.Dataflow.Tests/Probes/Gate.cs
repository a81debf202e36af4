namespace Weir.Dataflow.Tests.Probes;

/// <summary>Holds a delegate inside a block until the test opens it, and tells when the delegate has come.</summary>
public sealed class Gate : IDisposable
{
    // Longer than what the test waits for meanwhile, and shorter than the test.
    private static readonly TimeSpan Patience = Eventually.Patience * 2;
    private readonly ManualResetEventSlim _open = new();
    private int _arrived;

    public int Arrived => Volatile.Read(ref _arrived);

    public void Pass()
    {
        Interlocked.Increment(ref _arrived);
        if (!_open.Wait(Patience))
        {
            throw new TimeoutException("The gate was never opened.");
        }
    }

    public void Open() => _open.Set();

    public void AwaitArrivals(int count = 1) => Eventually.True(() => Arrived >= count, $"Fewer than {count} came to the gate.");

    public void Dispose() => _open.Dispose();
}
