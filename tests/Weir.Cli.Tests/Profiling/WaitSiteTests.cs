using Weir.Lab.Report.Tables;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Who waits for what.</summary>
public class WaitSiteTests
{
    private const string Event = "System.Threading.ManualResetEventSlim.Wait;System.Threading.Monitor.Wait";

    [Theory]
    [InlineData("a lock", "System.Threading.Monitor.Enter;System.Threading.Monitor.Enter_Slowpath")]
    [InlineData("a lock", "System.Threading.Lock.Enter;System.Threading.Lock.EnterSlow;System.Threading.WaitHandle.WaitOneNoCheck")]
    [InlineData("a task: blocks its thread", "System.Threading.Tasks.Task.Wait;System.Threading.Tasks.Task.SpinThenBlockingWait;" + Event)]
    [InlineData(
        "a task: blocks its thread", "System.Runtime.CompilerServices.TaskAwaiter.GetResult;System.Threading.Tasks.Task.InternalWaitCore;" + Event)]
    [InlineData("a semaphore", "System.Threading.SemaphoreSlim.Wait;System.Threading.Monitor.Wait")]
    [InlineData("a sleep", "System.Threading.Thread.Sleep")]
    [InlineData("an event or a pulse", Event)]
    [InlineData("a wait handle", "System.Threading.WaitHandle.WaitOneNoCheck")]
    [InlineData("a thread", "System.Threading.Thread.Join")]
    [InlineData("a reader-writer lock", "System.Threading.ReaderWriterLockSlim.TryEnterWriteLock;System.Threading.WaitHandle.WaitOneNoCheck")]
    [InlineData("a call of the system", "System.Net.Sockets.Socket.Receive;Interop+Sys.Receive")]
    [InlineData("a blocking collection", "System.Collections.Concurrent.BlockingCollection`1[System.Int32].Take;System.Threading.SemaphoreSlim.Wait")]
    public void Of_AWait_NamesTheMethodAndWhatItWaitsFor(string expected, string inner) =>
        Assert.Equal([new WaitSite("N.C.Find", expected, 7)], WaitSite.Of([new ProfileStack("N.C.Run;N.C.Find;" + inner, 7)]));

    [Fact]
    public void Of_ANativeCall_IsWhereItIsCalled() =>
        Assert.Equal([new WaitSite("N.C.Native", "a native call", 3)], WaitSite.Of([new ProfileStack("N.C.Run;N.C.Native", 3)]));
}
