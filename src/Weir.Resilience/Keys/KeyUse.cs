namespace Weir.Resilience;

/// <summary>A policy instance of one key, which is not forgotten while it is in use.</summary>
internal abstract class KeyUse<TPolicy>(TPolicy policy)
{
    public TPolicy Policy => policy;

    /// <summary>Ends the use. Called once for each use.</summary>
    public abstract void Release();
}
