namespace Weir.TestKit;

internal sealed class RecordedCollection(SourcePlan plan) : RecordedSequence(plan), IReadOnlyCollection<int>
{
    public int Count => Plan.Count!.Value;
}
