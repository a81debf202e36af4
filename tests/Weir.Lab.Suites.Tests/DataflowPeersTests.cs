using System.Reflection;
using System.Threading.Tasks.Dataflow;
using Weir.Lab.Suites.Peers.Dataflow;

namespace Weir.Lab.Suites.Tests;

public class DataflowPeersTests
{
    [Theory]
    [InlineData(typeof(InBoxBlocks), "System.Threading.Tasks.Dataflow")]
    [InlineData(typeof(InBoxPrograms), "System.Threading.Tasks.Dataflow")]
    [InlineData(typeof(WeirBlocks), "Weir.Dataflow")]
    [InlineData(typeof(WeirValueTasks), "Weir.Dataflow")]
    [InlineData(typeof(WeirPrograms), "Weir.Dataflow")]
    public void Cases_OfOneText_HaveTheBlocksOfTheirLibrary(Type cases, string library)
    {
        // The blocks that a case waits for are fields of its async method.
        Type[] blocks = [.. cases.GetNestedTypes(BindingFlags.NonPublic).SelectMany(static t => t.GetFields(BindingFlags.Instance | BindingFlags.NonPublic))
            .Select(static f => f.FieldType).Where(static t => t.IsClass && typeof(IDataflowBlock).IsAssignableFrom(t))];
        Assert.NotEmpty(blocks);
        Assert.All(blocks, block => Assert.Equal(library, block.Assembly.GetName().Name));
    }
}
