namespace Weir.Dataflow.Cores;

/// <summary>What a block does with each message. A struct, so that the loop around it is compiled for each kind.</summary>
internal interface IMessageCall<in T>
{
    /// <summary>Calls the delegate, and handles what it returns.</summary>
    void Run(T item);

    /// <summary>The delegate threw; the exception has been recorded.</summary>
    void Failed();
}
