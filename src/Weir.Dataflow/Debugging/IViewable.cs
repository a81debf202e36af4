namespace Weir.Dataflow.Debugging;

/// <summary>A block, or a part of one, that a debugger can look into.</summary>
internal interface IViewable
{
    /// <summary>Fills in what this part knows. Takes no lock and waits for nobody.</summary>
    void Show(BlockView view);
}
