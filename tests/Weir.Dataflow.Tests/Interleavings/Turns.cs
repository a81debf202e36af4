#if DEBUG
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>Holds a thread at its points until the test lets it go on.</summary>
internal sealed class Turns(params Step[] points) : IDisposable
{
    private readonly SemaphoreSlim _go = new(0);
    private readonly BlockingCollection<Step> _arrived = [];
    private volatile bool _open;

    public void Pass(Step step)
    {
        if (!_open && points.Contains(step))
        {
            _arrived.Add(step);
            _go.Wait(Eventually.Patience);
        }
    }

    public void Await(Step step)
    {
        Assert.True(_arrived.TryTake(out Step arrived, Eventually.Patience), $"Nobody came to {step}.");
        Assert.Equal(step, arrived);
    }

    public void Release() => _go.Release();

    public void Open()
    {
        _open = true;
        _go.Release(1000);
    }

    public void Dispose()
    {
        _go.Dispose();
        _arrived.Dispose();
    }
}
#endif
