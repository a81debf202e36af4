namespace Weir.Dataflow.Tests.Probes;

/// <summary>
/// Holds all threads of the pool, and those that it adds meanwhile. Only for tests that run while no other does: see <see cref="WithoutOthers"/>.
/// </summary>
public sealed class StarvedPool : IDisposable
{
    private const int More = 100;

    private readonly ManualResetEventSlim _open = new();
    private readonly Task[] _held;

    public StarvedPool()
    {
        int threads = ThreadPool.ThreadCount;
        _held = [.. Enumerable.Range(0, threads + More).Select(_ => Task.Run(() => _open.Wait(Eventually.Patience)))];
        Eventually.True(() => _held.Count(static task => task.Status == TaskStatus.Running) >= 2);
    }

    /// <summary>Lets all go; a second time does nothing.</summary>
    public void Dispose()
    {
        _open.Set();
        Task.WaitAll(_held);
    }
}
