namespace Weir.Operators;

/// <summary>The target of a delegate that calls the user's own one.</summary>
internal interface IWrapped
{
    Delegate Call { get; }
}
