using System.Collections;
using Weir.Lab.Resources;
using Weir.Lab.Results;

namespace Weir.Lab.Tests;

public class ResourceTests
{
    [Fact(Timeout = 300_000)]
    public async Task Take_Collections_CountsEachOneInItsOwnGenerationOnly()
    {
        static int[] Counts() => [GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2)];

        // The runtime counts a collection in each generation that it looks at. Those of tests beside may fall in between.
        int[] counts;
        ResourceUse use;
        do
        {
            await Task.Yield();
            counts = Counts();
            use = ResourceUse.Take();
        }
        while (!counts.SequenceEqual(Counts()));

        Assert.Equal((counts[0] - counts[1], counts[1] - counts[2], counts[2]), (use.Gen0, use.Gen1, use.Gen2));
        Assert.Equal(counts[0], use.Collections);
    }

    [Fact]
    public void Room_IsWhatOthersDidNotTake()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux tells what others take.");
        TimeSpan all = Environment.ProcessorCount * TimeSpan.FromSeconds(1);
        ResourceUse use = new() { Elapsed = TimeSpan.FromSeconds(1), CpuUser = all / 4, CpuSystem = all / 8, Kernel = new SystemUse { Idle = all / 8 } };

        Assert.SkipUnless(SystemUse.MachineProcessors == Environment.ProcessorCount, "The process may not use all processors.");
        Assert.Equal(0.5, use.Room!.Value, 9);
        Assert.Equal(1, (use with { CpuUser = all }).Room);
        Assert.Null((use with { Kernel = default }).Room);
    }

    [Fact(Timeout = 300_000)]
    public async Task Take_AllocationsOnAnotherThread_AreCounted()
    {
        const int bytes = 1_000_000;
        ResourceUse before = ResourceUse.Take();
        byte[] array = await Task.Run(static () => new byte[bytes]);
        ResourceUse use = ResourceUse.Take() - before;

        Assert.True(use.AllocatedBytes >= bytes, $"{use.AllocatedBytes} bytes");
        Assert.True(use.PeakResidentBytes > array.Length);
    }

    [Fact]
    public void Read_ThisMachine_IsFilled()
    {
        MachineRecord machine = MachineRecord.Read();

        Assert.Equal(Environment.ProcessorCount, machine.Cores);
        Assert.NotEmpty(machine.Cpu);
        Assert.NotEmpty(machine.Os);
        Assert.StartsWith("10.", machine.Dotnet, StringComparison.Ordinal);
        Assert.True(machine.MemoryBytes > 0);
    }

    [Fact]
    public void Relevant_Variables_KeepsThoseThatChangeHowCodeRuns()
    {
        Hashtable variables = new()
        {
            ["DOTNET_TieredPGO"] = "0",
            ["DOTNET_gcServer"] = "1",
            ["DOTNET_NOLOGO"] = "1",
            ["HOME"] = "/",
        };

        Assert.Equal(["DOTNET_TieredPGO", "DOTNET_gcServer"], MachineInfo.Relevant(variables).Keys);
    }
}
