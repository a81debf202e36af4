using Weir.Lab.Resources;

namespace Weir.Lab.Tests;

public class CanaryTests
{
    [Fact]
    public void Of_SteadyPieces_AreQuiet()
    {
        CanaryReading reading = Canary.Of([1_000_000, 1_010_000, 990_000], TimeSpan.FromMilliseconds(1));

        Assert.Equal(1, reading.Slowness, 6);
        Assert.Equal(0.01, reading.Variation, 6);
        Assert.True(reading.IsQuiet);
        Assert.Equal(0, reading.Hiccups);
    }

    [Fact]
    public void Of_OnePieceInterrupted_IsNotQuiet()
    {
        CanaryReading reading = Canary.Of([.. Enumerable.Repeat(1e6, 19), 4e6], TimeSpan.FromMilliseconds(1));

        Assert.False(reading.IsQuiet);
        Assert.Equal(1, reading.Hiccups);
        Assert.Equal(1.15, reading.Slowness, 6);
    }

    [Fact(Timeout = 300_000)]
    public async Task Read_ThisMachine_TakesTimeThatIsMeasured()
    {
        CanaryReading reading = await Task.Run(static () => Canary.Read(5, TimeSpan.FromMilliseconds(0.1)));

        // How long it takes is the machine's business, whose clock may run slower while the speed is found than afterwards.
        Assert.InRange(reading.Slowness, double.Epsilon, double.MaxValue);
        Assert.InRange(reading.Variation, 0, double.MaxValue);
    }

    [Fact]
    public void KernelLines_AsLinuxWritesThem_AreRead()
    {
        Assert.Equal(
            (TimeSpan.FromMilliseconds(90), TimeSpan.FromMilliseconds(70), TimeSpan.FromMilliseconds(280)),
            SystemUse.ProcessorTimes("cpu  1 2 3 4 5 6 0 7 9 9"));
        Assert.Null(SystemUse.ProcessorTimes("intr 1 2 3 4 5 6 7 8 9").Steal);
        Assert.Equal(TimeSpan.FromMicroseconds(12_345), SystemUse.PressureOf("some avg10=0.00 avg60=1.50 avg300=0.89 total=12345"));
        Assert.Null(SystemUse.PressureOf(null));
    }

    [Fact]
    public void Between_Samples_SubtractsWhatBothHave()
    {
        SystemUse use = new SystemUse { ContextSwitches = 9, ThrottledPeriods = 3 } - new SystemUse { ContextSwitches = 5, Steal = TimeSpan.FromSeconds(1) };

        Assert.Equal(4, use.ContextSwitches);
        Assert.Null(use.Steal);
        Assert.Null(use.ThrottledPeriods);
    }

    [Fact]
    public void Take_OnLinux_CountsSwitches()
    {
        SystemUse sample = SystemUse.Take();

        Assert.Equal(OperatingSystem.IsLinux(), sample.ContextSwitches > 0);
    }
}
