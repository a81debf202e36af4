namespace Weir.Lab.Suites;

/// <summary>A suite whose arms call one delegate for each item.</summary>
public abstract class ItemSuite : Suite
{
    private protected ItemCall Call { get; private set; } = null!;

    private protected ParallelRunOptions Options { get; private set; } = null!;

    /// <summary>The items: 1 to N.</summary>
    private protected IEnumerable<int> Items { get; private set; } = [];

    private protected virtual SourceKind ItemsKind => SourceKind.Array;

    private protected abstract int Limit { get; }

    private protected abstract ItemCall MakeCall();

    private protected override void Prepare(CallCounter? counter)
    {
        Call = CallCounter.Around(counter, MakeCall());
        Items = Sources.Of(ItemsKind, N);
        Options = new ParallelRunOptions { MaxDegreeOfParallelism = Limit };
    }
}
