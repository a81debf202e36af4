namespace Weir.Dataflow.Sync;

internal sealed class AfterBoth(IAfterLock first, IAfterLock second) : IAfterLock
{
    public void AfterLock()
    {
        try
        {
            first.AfterLock();
        }
        finally
        {
            second.AfterLock();
        }
    }
}
