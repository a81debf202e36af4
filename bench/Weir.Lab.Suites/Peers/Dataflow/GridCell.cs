namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>A cell of the grid of blocks: a small program around a new block.</summary>
/// <param name="Block">The block.</param>
/// <param name="IsGreedy">Whether it takes each message that is offered, or leaves messages in two or three buffers that are linked to it.</param>
/// <param name="Bound">The bound of the block, and of the buffers before it.</param>
/// <param name="IsOrdered">Whether its outputs come in the order of its inputs.</param>
/// <param name="Degree">How many calls it makes at once.</param>
/// <param name="Senders">How many tasks send to it.</param>
/// <param name="Yields">Whether its calls yield, or complete synchronously.</param>
/// <param name="Messages">How many messages are sent to it; fewer, if they cannot be divided among the targets of a join.</param>
internal sealed record GridCell(GridBlock Block, bool IsGreedy, int Bound, bool IsOrdered, int Degree, int Senders, bool Yields, int Messages)
{
    private const int Unbounded = DataflowBlockOptions.Unbounded;

    /// <summary>All cells, without what a block has no option for. Cells that differ in their messages alone follow each other.</summary>
    public static IReadOnlyList<GridCell> All { get; } =
    [
        .. from block in Enum.GetValues<GridBlock>()
           from greedy in HasGreedy(block) ? new[] { true, false } : [true]
           from bound in HasBound(block) ? new[] { Unbounded, 10, 1 } : [Unbounded]
           from degree in HasCalls(block) ? new[] { 1, 4 } : [1]
           from ordered in HasOrder(block, degree) ? new[] { true, false } : [true]
           from senders in new[] { 1, 2 }
           from yields in HasCalls(block) ? new[] { false, true } : [false]
           from messages in new[] { 20, 2_000, 50_000 }
           select new GridCell(block, greedy, bound, ordered, degree, senders, yields, messages),
    ];

    /// <summary>What <c>--filter</c> compares: the options that the block has.</summary>
    public string Name => string.Join('/', (string[])
    [
        BlockName,
        .. Named(HasGreedy(Block), IsGreedy ? "greedy" : "not-greedy"),
        .. Named(HasBound(Block), IsBounded ? $"bound-{Bound}" : "unbounded"),
        .. Named(HasCalls(Block), $"degree-{Degree}"),
        .. Named(HasOrder(Block, Degree), IsOrdered ? "ordered" : "unordered"),
        $"senders-{Senders}",
        .. Named(HasCalls(Block), Yields ? "yielding" : "synchronous"),
        $"messages-{Messages}",
    ]);

    public string BlockName => Block switch
    {
        GridBlock.Join2 => "JoinBlock-2",
        GridBlock.Join3 => "JoinBlock-3",
        _ => $"{Block}Block",
    };

    public bool IsBounded => Bound != Unbounded;

    /// <summary>The options in words, empty where the block has none.</summary>
    public (string Greedy, string Bound, string Order, string Degree, string Calls) Words =>
    (
        HasGreedy(Block) ? IsGreedy ? "yes" : "no" : "",
        HasBound(Block) ? IsBounded ? $"{Bound}" : "none" : "",
        HasOrder(Block, Degree) ? IsOrdered ? "yes" : "no" : "",
        HasCalls(Block) ? $"{Degree}" : "",
        HasCalls(Block) ? Yields ? "yielding" : "synchronous" : ""
    );

    /// <summary>Whether messages come one right after the other, and no call yields: nobody needs a thread for each.</summary>
    public bool IsDense => Messages >= 2_000 && !Waits && !Yields;

    /// <summary>The goal for the work items of the pool in a run whose blocks have few messages; null where senders wait for each or calls yield.</summary>
    public int? MostHopsOfNewBlocks => Messages > 20 || Waits || Yields ? null : (2 * Blocks) + (Senders == 1 ? 0 : Senders);

    /// <summary>How many messages a run has.</summary>
    public int Sent => Messages / Inputs * Inputs;

    /// <summary>The sum that a run gives.</summary>
    public long Expected => (long)Sent * (Sent - 1) / 2 * (Block is GridBlock.TransformMany or GridBlock.Broadcast ? 2 : 1);

    /// <summary>The messages of a batch: two, as it has two sources if it is not greedy, and not more than its bound.</summary>
    public int BatchSize => Bound == 1 ? 1 : 2;

    public DataflowBlockOptions Plain => new() { BoundedCapacity = Bound };

    public GroupingDataflowBlockOptions Grouping => new() { BoundedCapacity = Bound, Greedy = IsGreedy };

    public ExecutionDataflowBlockOptions Execution => new() { BoundedCapacity = Bound, MaxDegreeOfParallelism = Degree, EnsureOrdered = IsOrdered };

    // Whether a sender waits for each message.
    private bool Waits => IsBounded || Block == GridBlock.WriteOnce;

    // The block, what takes its outputs, and the buffers before one that is not greedy.
    private int Blocks => Block switch
    {
        GridBlock.Action => 1,
        GridBlock.Broadcast => 3,
        _ => 2 + (IsGreedy ? 0 : Inputs),
    };

    private int Inputs => Block switch
    {
        GridBlock.Join3 => 3,
        GridBlock.Join2 or GridBlock.BatchedJoin => 2,
        GridBlock.Batch => IsGreedy ? 1 : 2,
        _ => 1,
    };

    /// <summary>Sends all messages: to one input from each sender, to several inputs in turns, each from one sender.</summary>
    public Task SendAsync(params BlockInput[] inputs) => Senders == 1
        ? SendFromAsync(0, inputs)
        : Task.WhenAll(Enumerable.Range(0, Senders).Select(sender => Task.Run(() => SendFromAsync(sender, inputs))));

    private static bool HasGreedy(GridBlock block) => block is GridBlock.Batch or GridBlock.Join2 or GridBlock.Join3;

    private static bool HasBound(GridBlock block) => block is not (GridBlock.WriteOnce or GridBlock.BatchedJoin);

    private static bool HasCalls(GridBlock block) => block is GridBlock.Action or GridBlock.Transform or GridBlock.TransformMany;

    private static bool HasOrder(GridBlock block, int degree) => degree > 1 && block is (GridBlock.Transform or GridBlock.TransformMany);

    private static string[] Named(bool has, string name) => has ? [name] : [];

    private async Task SendFromAsync(int sender, BlockInput[] inputs)
    {
        // One input gets every message of each sender; of several, each gets its own from the same one.
        (int step, int first, int among) = inputs.Length == 1 ? (Senders, sender, 1) : (inputs.Length, 0, Senders);
        bool waits = Waits;
        int sent = Sent;
        for (int i = first; i < sent; i += step)
        {
            for (int input = among == 1 ? 0 : sender; input < inputs.Length; input += among)
            {
                if (waits)
                {
                    await inputs[input].SendAsync(i + input);
                }
                else
                {
                    inputs[input].Post(i + input);
                }
            }
        }
    }
}
