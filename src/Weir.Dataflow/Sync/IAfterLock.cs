namespace Weir.Dataflow.Sync;

/// <summary>Something that a locked region found out has to be done once no lock is held, because it may reach the user's code.</summary>
internal interface IAfterLock
{
    void AfterLock();
}
