namespace Weir.Dataflow.Sync;

internal sealed class AfterBoth(IAfterLock first, IAfterLock second) : IAfterLock
{
    public static IAfterLock? Of(IAfterLock? first, IAfterLock? second) =>
        first is null ? second : second is null ? first : new AfterBoth(first, second);

    public void AfterLock()
    {
        first.AfterLock();
        second.AfterLock();
    }
}
