import { once } from "node:events";
import { connect, type TcpNetConnectOpts } from "node:net";

/** Whether something accepts connections there. */
export async function connects(to: TcpNetConnectOpts): Promise<boolean> {
  const socket = connect(to);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
