namespace Weir.Lab.Suites;

/// <summary>A suite whose arms yield results to a consumer, which puts them into a buffer made beforehand: the stream's own memory is what shows.</summary>
public abstract class StreamSuite : ItemSuite
{
    private int[] _buffer = [];

    private protected ParallelRunOptions OrderedOptions { get; private set; } = null!;

    private protected async Task<ArraySegment<int>> DrainAsync(IAsyncEnumerable<int> stream)
    {
        int[] buffer = _buffer;
        int count = 0;
        await foreach (int result in stream)
        {
            buffer[count++] = result;
        }

        return new ArraySegment<int>(buffer, 0, count);
    }

    /// <summary>Receives the results of a peer that calls a delegate with each, one at a time.</summary>
    private protected async Task<ArraySegment<int>> ReceiveAsync(Func<Action<int>, Task> run)
    {
        int[] buffer = _buffer;
        int count = 0;
        await run(result => buffer[count++] = result);
        return new ArraySegment<int>(buffer, 0, count);
    }

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        OrderedOptions = Options with { OrderedOutput = true };
        _buffer = new int[N];
    }
}
