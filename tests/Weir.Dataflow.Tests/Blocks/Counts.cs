namespace Weir.Dataflow.Tests.Blocks;

/// <summary>What the blocks have but the interfaces they are made as do not.</summary>
public static class Counts
{
    public static bool Has(this IDataflowBlock block, int outputs) => Output(block) == outputs;

    public static int Output(this IDataflowBlock block) =>
        (int)(block.GetType().GetProperty("OutputCount") ?? block.GetType().GetProperty("Count"))!.GetValue(block)!;

    public static int Input(this IDataflowBlock block) => (int)block.GetType().GetProperty("InputCount")!.GetValue(block)!;

    public static IReceivableSourceBlock<T> Receivable<T>(this ISourceBlock<T> block) => (IReceivableSourceBlock<T>)block;
}
