namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>
/// Rounds of messages through one action, with the block of System.Threading.Tasks.Dataflow; a round ends when its last message has come. The build writes
/// the same text with Weir's block (WeirRounds).
/// </summary>
internal sealed class InBoxRounds
{
    private readonly ExecutionDataflowBlockOptions _options;
    private readonly ActionBlock<int> _block;
    private readonly Tally _tally = new();
    private TaskCompletionSource<long[]> _end = new();
    private int _last = -1;

    public InBoxRounds(ExecutionDataflowBlockOptions options)
    {
        _options = options;
        _block = new ActionBlock<int>(Receive, options);
        _end.SetResult([]);
    }

    /// <summary>This one, or a new one in its place if its round was given up: the messages of that round would be taken for those of the next.</summary>
    public InBoxRounds OrNew() => _end.Task.IsCompleted ? this : new InBoxRounds(_options);

    /// <summary>Posts a round of messages, and gives what they add up to when the last one has come.</summary>
    public Task<long[]> RoundAsync(int n)
    {
        _end = new TaskCompletionSource<long[]>(TaskCreationOptions.RunContinuationsAsynchronously);
        _last = n - 1;

        // A local: the field may lie beside the tally, which the worker writes for each message.
        ActionBlock<int> block = _block;
        for (int i = 0; i < n; i++)
        {
            block.Post(i);
        }

        return _end.Task;
    }

    private void Receive(int i)
    {
        _tally.Add(i);
        if (i == _last)
        {
            _end.SetResult(_tally.Take());
        }
    }
}
