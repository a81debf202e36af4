using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Lab.Work;
using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Workers;

/// <summary>What keeps workers from disturbing each other, and the compiler from leaving out the work.</summary>
public class LayoutTests
{
    private const int Apart = 128;

    [Fact]
    public void WorkerTally_EveryField_IsTwoCacheLinesAwayFromBothEnds()
    {
        int size = Unsafe.SizeOf<WorkerTally>();
        FieldInfo[] fields = typeof(WorkerTally).GetFields(BindingFlags.Instance | BindingFlags.Public);

        Assert.NotEmpty(fields);
        Assert.All(fields, field =>
        {
            int offset = field.GetCustomAttribute<FieldOffsetAttribute>()!.Value;
            Assert.InRange(offset, Apart, size - Apart - sizeof(long));
        });
    }

    [Fact]
    public void Sink_Consume_IsACallThatTheCompilerMustKeep() =>
        Assert.True(typeof(Sink).GetMethod(nameof(Sink.Consume))!.MethodImplementationFlags.HasFlag(MethodImplAttributes.NoInlining));

    [Fact]
    public void Repeat_OfEverySyncOperation_IsAMethodOfItsOwn()
    {
        // Inlined into the loop that is called once, it would stay in the code that replaces a running loop.
        MethodInfo[] repeats =
        [
            .. new[] { typeof(ActionOperation), typeof(FuncOperation<int>) }
                .Select(static t => t.GetMethod("Repeat", BindingFlags.Instance | BindingFlags.NonPublic)!),
        ];

        Assert.All(repeats, static m => Assert.True(m.MethodImplementationFlags.HasFlag(MethodImplAttributes.NoInlining)));
    }
}
